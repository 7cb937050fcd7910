import { later, optional } from 'zin'
import { clusterService } from 'zin/plugins/cluster'
import { databaseService } from 'zin/plugins/database'
import { decisionsService } from 'zin/plugins/decisions'
import { kvService } from 'zin/plugins/kv'
import { opsService } from 'zin/plugins/ops'
import { queuesService } from 'zin/plugins/queues'
import { workersService } from 'zin/plugins/workers'

/** The services that the parts of the plugin use. */
export const complianceUses = {
  cluster: clusterService,
  database: databaseService,
  decisions: optional(decisionsService),
  kv: optional(kvService),
  ops: opsService,
  queues: queuesService,
  workers: later(workersService),
}
