import { defineErrors } from 'zin'

export const gatewayErrors = defineErrors({
  ORDER_REFUSED: {
    status: 502,
    message: (status: number) => `The service orders responded ${status}; the order is not taken`,
    when: 'The service orders did not take an order',
    fix: 'Try again later',
  },
  USER_UNKNOWN: {
    message: (status: number) => `The service users responded ${status}; the receipt is not written`,
    when: 'The service users does not give the user of a receipt',
    fix: 'See the log of users; the job is tried again',
  },
})
