// A job's files, and what a peer in JavaScript gives back (see job.py).
import { readFileSync, writeFileSync, openSync, writeSync, closeSync } from 'node:fs'
import { createRequire } from 'node:module'
import { pathToFileURL } from 'node:url'

export const [prefix, source, target] = process.argv.slice(2)
export const require = createRequire(`${prefix}/package.json`)
export const load = (name) => import(pathToFileURL(`${prefix}/node_modules/${name}`).href)
export const lines = (name) => readFileSync(`${source}/${name}.txt`, 'utf8').split('\n').slice(0, -1)

const array = (name) => {
  const bytes = readFileSync(`${source}/${name}.bin`)
  return new Int32Array(bytes.buffer.slice(bytes.byteOffset, bytes.byteOffset + bytes.length))
}
const rows = (flat, columns, from = 0, to = flat.length / columns) => {
  const found = []
  for (let row = from; row < to; row++) found.push(Array.from(flat.subarray(row * columns, (row + 1) * columns)))
  return found
}

export const job = { names: {} }
for (const line of lines('job')) {
  const [key, value] = line.split(' ')
  if (key.startsWith('name.')) job.names[key.slice(5)] = Number(value)
  else job[key] = key === 'kind' ? value : Number(value)
}
const stream = array('stream')
job.background = rows(array('background'), 3)
job.tenths = array('tenths')
for (const name of ['supers', 'domains', 'ranges']) job[name] = rows(array(name), 2)
job.slide = (number) => rows(stream, 3, number * job.count, (number + 1) * job.count)
job.full = () => rows(stream, 3, 0, job.width * job.count)

const times = { wall: [], cpu: [] }
const answers = openSync(`${target}/answers.bin`, 'w')

/** Keep what a slide took, and its rows: a list of lists of numbers. */
export function keep(wall, cpu, found) {
  times.wall.push(wall)
  times.cpu.push(cpu)
  const numbers = new Int32Array(1 + found.length * job.arity)
  numbers[0] = found.length
  let place = 1
  for (const row of found) for (const number of row) numbers[place++] = number
  writeSync(answers, Buffer.from(numbers.buffer))
}

export function finish(version, reason) {
  closeSync(answers)
  writeFileSync(`${target}/times.json`, JSON.stringify(reason ? { version, reason } : { version, ...times }))
  process.exit(0)
}

/** Every slide; `ready` and `rows` are not timed. `work` may be asynchronous; `until` says when it was really done. */
export async function measure(ready, work, rows, until = process.hrtime.bigint) {
  for (let number = 0; number < job.warm + job.slides; number++) {
    const given = ready(job.slide(job.width + number), job.slide(number))
    const cpu = process.cpuUsage(), begun = process.hrtime.bigint()
    const answer = await work(given)
    const wall = Number(until() - begun) / 1e9, used = process.cpuUsage(cpu)
    const found = rows(answer)
    if (number >= job.warm) keep(wall, (used.user + used.system) / 1e6, found)
  }
}
