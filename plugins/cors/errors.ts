import { defineErrors } from 'zin'

export const corsErrors = defineErrors({
  CORS_INVALID: {
    message: (problem: string) => `cors: ${problem}`,
    when: 'An origin is not valid, or credentials are combined with the origin `*`',
    fix: 'Write origins as the browser sends them in `Origin`: scheme, host and port, without a path',
  },
})
