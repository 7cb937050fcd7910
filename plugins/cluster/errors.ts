import { defineErrors } from 'zin'

export const clusterErrors = defineErrors({
  CLUSTER_UNAVAILABLE: {
    status: 503,
    message: (where: string, why: string) => `The store of the cluster (${where}) cannot be reached: ${why}`,
    when: 'The store of the cluster does not respond in time',
    fix: 'Check Redis or the database; requests can be retried',
  },
  CLUSTER_MISCONFIGURED: {
    message: (what: string) => `cluster: ${what}`,
    when: 'The store that `CLUSTER_DRIVER` names is not enabled (at boot), or the labels of a node are too long',
    fix: 'Follow the message',
  },
})
