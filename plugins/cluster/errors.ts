import { defineErrors } from 'zin'

export const clusterErrors = defineErrors({
  CLUSTER_UNAVAILABLE: {
    status: 503,
    message: (where: string, why: string) => `The nodes of the app cannot reach each other, because ${where} does not respond: ${why}`,
    when: 'The store of the cluster does not respond in time',
    fix: 'Check Redis or the database; requests may be tried again',
  },
  CLUSTER_MISCONFIGURED: {
    message: (what: string) => `cluster: ${what}`,
    when: 'At boot: the store that `CLUSTER_DRIVER` names is not enabled. Or the labels of a node are too long',
    fix: 'Do what the message says',
  },
})
