import { defineErrors } from 'zin'

export const gatewayErrors = defineErrors({
  ORDER_REFUSED: {
    status: 502,
    message: (status: number) => `The service orders responded with ${status}; the order was not accepted`,
    when: 'The service orders did not accept an order',
    fix: 'Try again later',
  },
  USER_UNKNOWN: {
    message: (status: number) => `The service users responded with ${status}; the receipt was not written`,
    when: 'The service users does not return the user of a receipt',
    fix: 'Check the log of users; the job is retried',
  },
})
