// @tanstack/db-ivm: differential dataflow in JavaScript. It is told what comes and what leaves, and tells how the
// answer changes; the answer itself is put together from that when the time is taken.
import { finish, job, lines, load, measure } from './job.mjs'
import { readFileSync } from 'node:fs'

const { D2, MultiSet, concat, consolidate, distinct, filter, groupBy, groupByOperators, join, map, output } =
  await load('@tanstack/db-ivm/dist/esm/index.js')
const { avg, count, max, sum } = groupByOperators
const version = JSON.parse(readFileSync(`${process.argv[2]}/node_modules/@tanstack/db-ivm/package.json`)).version
const { names, tenths } = job
const ROOMS = 50

if (job.kind === 'closure') finish(version, 'it has no operator for recursion')

const graph = new D2(), triples = graph.newInput(), fixed = graph.newInput()
const changes = []                                       // what the outputs have told: [row, multiplicity]
const tell = output((message) => { for (const change of message.getInner()) changes.push(change) })

const of = (stream, predicate) => stream.pipe(filter(([, p]) => p === predicate))
// Observations: [observation, [[sensor, room], value]]
const readings = () => {
  const rooms = fixed.pipe(map(([s, , o]) => [s, o]))
  const placed = of(triples, names.of).pipe(map(([s, , o]) => [o, s]), join(rooms, 'inner'),
    map(([sensor, [observation, room]]) => [observation, [sensor, room]]))
  return placed.pipe(join(of(triples, names.value).pipe(map(([s, , o]) => [s, tenths[o]])), 'inner'))
}

if (job.kind === 'single') {
  triples.pipe(map(([s, , o]) => [s, o]), tell)
} else if (job.kind === 'self') {
  triples.pipe(map(([s, , o]) => [o, s]), join(triples.pipe(map(([s, , o]) => [s, o])), 'inner'),
    map(([, ends]) => ends), tell)
} else if (job.kind === 'analytic') {
  readings().pipe(filter(([, [, value]]) => value > 200), map(([, [[, room], value]]) => ({ room, value })),
    groupBy(({ room }) => ({ room }), { mean: avg((row) => row.value), most: max((row) => row.value),
      number: count((row) => row.value) }),
    map(([, row]) => [row.room, Math.round(row.mean * row.number), row.most, row.number]), tell)
} else if (job.kind === 'many') {
  const read = readings()
  lines('queries').forEach((_, number) => {
    const room = names.room + (number % ROOMS), least = 10 * Math.floor(number / ROOMS)
    read.pipe(filter(([, [[, where], value]]) => where === room && value > least),
      map(([observation, [[sensor], value]]) => [number, observation, sensor, value]), tell)
  })
} else if (job.kind === 'rdfs') {
  const above = (pairs) => {
    const found = new Map()
    for (const [low, high] of pairs) (found.get(low) ?? found.set(low, []).get(low)).push(high)
    return found
  }
  const supers = above(job.supers), domains = above(job.domains), ranges = above(job.ranges)
  // One triple makes several, which it can only do by a join
  const table = graph.newInput()
  const derived = triples.pipe(map((row) => [row[1], row]), join(table, 'inner'),
    map(([, [[s, , o], [kind, name]]]) => kind === 0 ? [s, name, o] : [kind === 1 ? s : o, names.type, name]),
    map((row) => [row.join(' '), row]), distinct(([key]) => key), map(([, row]) => row))
  triples.pipe(concat(derived), tell)
  job.schema = () => {
    const rows = []
    for (const [kind, pairs] of [supers, domains, ranges].entries())
      for (const [low, highs] of pairs) for (const high of highs) rows.push([[low, [kind, high]], 1])
    table.sendData(new MultiSet(rows))
  }
}
graph.finalize()
job.schema?.()
fixed.sendData(new MultiSet(job.kind === 'rdfs' ? [] : job.background.map((row) => [row, 1])))

const whole = new Map()                                  // the answer: how often each row is there, by its text
const gather = () => {
  for (const [row, times] of changes) {
    const key = row.join(' '), there = whole.get(key)
    if (there === undefined) whole.set(key, [row, times])
    else if ((there[1] += times) === 0) whole.delete(key)
  }
  changes.length = 0
  const found = []
  for (const [row, times] of whole.values()) for (let n = 0; n < times; n++) found.push(row)
  return found
}
triples.sendData(new MultiSet(job.full().map((row) => [row, 1])))
graph.run()
gather()

await measure(
  (added, removed) => new MultiSet([...removed.map((row) => [row, -1]), ...added.map((row) => [row, 1])]),
  (given) => { triples.sendData(given); graph.run() },
  gather)
finish(version)
