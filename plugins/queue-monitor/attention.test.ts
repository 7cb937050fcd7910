import { databaseService } from 'zin/plugins/database'
import { attentionContract } from './attention.contract.js'
import { attentionCutContract, attentionKindsContract } from './attention-kinds.contract.js'

attentionContract('the embedded store', () => ({}))

attentionKindsContract('the embedded store', false, async () => ({}))

attentionCutContract('the embedded store', false, async () => ({
  env: { DB_ACQUIRE_TIMEOUT_MS: '200', DB_STATEMENT_TIMEOUT_MS: '200' },
  // SQLite has one connection, which a transaction holds. The queues are in another store.
  cut: async (lab) => {
    let heal: () => void = () => undefined
    const until = new Promise<void>((resolve) => (heal = resolve))
    const held = new Promise<void>((begun) => {
      const work = async (): Promise<void> => {
        begun()
        await until
      }
      lab.host
        .service(databaseService)
        .transaction(work)
        .catch(() => undefined)
    })
    await held
    return async () => heal()
  },
  left: new Set(['memory', 'queues', 'clock']),
}))
