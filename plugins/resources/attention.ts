import type { AttentionReport } from 'zin'
import type { Resources } from './contract.js'

/** The kinds of facts, and when each is listed. */
export const resourceKinds = {
  'resource-alert': 'a live node has an alert',
} as const

/** The alerts of live nodes. */
export async function resourceReport({ current }: Pick<Resources, 'current'>): Promise<AttentionReport> {
  const snapshots = await current()
  return {
    facts: snapshots.flatMap(({ alerts, node }) =>
      alerts.map(({ reason, rule, since }) => ({
        kind: 'resource-alert',
        subject: `node:${node}`,
        key: rule,
        cause: `Alert ${rule} of the node ${node}: ${reason}`,
        since,
        act: { label: 'See its resources', href: `/console/resources?node=${encodeURIComponent(node)}` },
      })),
    ),
  }
}
