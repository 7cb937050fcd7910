import { defineErrors } from 'zin'

export const clusterErrors = defineErrors({
  CLUSTER_UNAVAILABLE: {
    status: 503,
    message: (where: string, why: string) => `The nodes of the app cannot reach each other, because ${where} does not answer: ${why}`,
  },
  CLUSTER_MISCONFIGURED: { status: 500, message: (what: string) => `cluster: ${what}` },
})
