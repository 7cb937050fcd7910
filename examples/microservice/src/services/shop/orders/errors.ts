import { defineErrors } from 'zin'

export const orderErrors = defineErrors({
  USER_REFUSED: {
    status: 502,
    message: (status: number) => `The service users responded with ${status}; the order was not accepted`,
    when: 'The service users does not return the user of an order',
    fix: 'Try again later',
  },
})
