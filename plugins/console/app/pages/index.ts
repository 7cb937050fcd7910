import type { ConsoleModule } from '../../contract.js'
import { accessPages } from './access/index.js'
import { attentionPages } from './attention.js'
import { compliancePages } from './compliance/index.js'
import { decisionPages } from './decisions/index.js'
import { flowPages } from './flows.js'
import { healthPages } from './health.js'
import { overviewPages } from './overview.js'
import { pluginPages } from './plugins/index.js'
import { queuePages } from './queues.js'
import { resourcePages } from './resources/index.js'
import { schedulePages } from './schedules.js'
import { webhookPages } from './webhooks/index.js'
import { workerPages } from './workers/index.js'

/** The built-in pages, in the same form as the modules of plugins. */
export const builtIn: readonly ConsoleModule[] = [
  overviewPages,
  attentionPages,
  queuePages,
  workerPages,
  schedulePages,
  flowPages,
  decisionPages,
  resourcePages,
  webhookPages,
  healthPages,
  compliancePages,
  pluginPages,
  accessPages,
]
