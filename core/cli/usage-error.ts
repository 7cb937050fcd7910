import { ZinError } from '../errors.js'

/** The command line was wrong: one line on stderr, exit code 2. */
export class UsageError extends ZinError {
  constructor(message: string) {
    super('ZIN_USAGE', message, { status: 400 })
  }
}
