// rsp-js: an RSP-QL engine on Comunica. It never tells that a window is done: the rows that came until nothing was told
// for QUIET ms are the answer, and the time is that of the last of them. An element is given alone, with its timestamp.
import { finish, job, lines, measure, prefix, require } from './job.mjs'
import { readFileSync } from 'node:fs'

const version = JSON.parse(readFileSync(`${prefix}/node_modules/rsp-js/package.json`)).version
if (!['self', 'single'].includes(job.kind)) finish(version, 'not written beyond the first two workloads')
console.debug = console.log = () => {}                    // it writes a line for each element and window

const { RSPEngine } = require('rsp-js')
const { DataFactory } = require('n3')
const QUIET = 500
const terms = lines('terms').map((term) => term.slice(1, -1))
const place = new Map(terms.map((term, number) => [term, number]))
const [head, body] = lines('queries')[0].split(' WHERE ')
const engine = new RSPEngine(`PREFIX : <urn:>
REGISTER RStream <output> AS
${head}
FROM NAMED WINDOW :w ON STREAM :stream [RANGE ${10 * job.width} STEP 10]
WHERE{
  WINDOW :w ${body}
}`)
engine.logger.log = () => {}                              // it writes another to a file
let told = [], last = 0n
engine.register().on('RStream', ({ bindings }) => { told.push(bindings); last = process.hrtime.bigint() })
const stream = engine.getStream('urn:stream')
const give = (rows, at) => {
  for (const row of rows) stream.add(DataFactory.quad(...row.map((n) => DataFactory.namedNode(terms[n]))), at)
}
const quiet = async () => {
  do await new Promise((done) => setTimeout(done, QUIET))
  while (process.hrtime.bigint() - last < BigInt(QUIET) * 1_000_000n)
}

// It moves the origin of its windows on by a step for each row that it tells (rsp.ts: `window.t0 += window.slide`), so
// that later windows are lost: the origin is put back before each slide. A window is told when an element comes that is
// later than its end: after each slide, one that matches nothing.
let at = 0
const slide = (rows) => {
  for (const window of engine.windows) window.t0 = 0
  give(rows, 10 * at + 5)
  stream.add(DataFactory.quad(...Array(3).fill(DataFactory.namedNode('urn:tick'))), 10 * at++ + 11)
}
while (at < job.width) slide(job.slide(at))
await quiet()
const names = job.kind === 'self' ? ['a', 'c'] : ['a', 'b']
await measure((added) => added, async (added) => {
  told = []
  slide(added)
  await quiet()
  return told
}, (rows) => rows.map((row) => names.map((name) => place.get(row.get(name)?.value) ?? -1)), () => last)
finish(version)
