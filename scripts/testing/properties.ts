// fast-check with a fixed seed, so that two runs of the tests do the same. SEED=<integer> or SEED=random explores other values.
import fc from 'fast-check'

const given = process.env.SEED
if (given !== 'random') fc.configureGlobal({ seed: Number(given ?? 1) })

export default fc
