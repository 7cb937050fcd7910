// Records how jobs of 20 minutes are handled in a simulation, for recommend/long-jobs.test.ts.
import { writeFileSync } from 'node:fs'
import { longJobs } from './long-jobs.js'
import { simulate } from './simulate.js'

const { doneAt, evaluations, killed } = simulate(longJobs)
const lines = evaluations.map((evaluation) => JSON.stringify(evaluation)).join(',\n')
writeFileSync(new URL('long-jobs.json', import.meta.url), `{"evaluations":[\n${lines}\n]}\n`)
console.log(`${evaluations.length} evaluations, ${killed.length} killed, done after ${doneAt} s`)
