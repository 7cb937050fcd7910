import { configErrors } from '../config/errors.js'
import { dataErrors } from '../data/errors.js'
import { egressErrors } from '../egress/errors.js'
import type { ErrorTable } from '../errors.js'
import { hookErrors } from '../hooks/errors.js'
import { httpErrors } from '../http/errors.js'
import { logErrors } from '../log/errors.js'
import { serviceErrors } from '../services/errors.js'
import { signingErrors } from '../signing/errors.js'
import { utilErrors } from '../util/errors.js'
import { hostErrors } from './errors.js'

/** All errors of the core except those of its CLI commands, which never appear in a response. */
export const coreErrors: ErrorTable = {
  ...httpErrors,
  ...egressErrors,
  ...hookErrors,
  ...serviceErrors,
  ...hostErrors,
  ...configErrors,
  ...signingErrors,
  ...logErrors,
  ...utilErrors,
  ...dataErrors,
}
