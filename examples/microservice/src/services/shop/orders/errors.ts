import { defineErrors } from 'zin'

export const orderErrors = defineErrors({
  USER_REFUSED: {
    status: 502,
    message: (status: number) => `The service users responded ${status}; the order is not taken`,
    when: 'The service users does not give the user of an order',
    fix: 'Try again later',
  },
})
