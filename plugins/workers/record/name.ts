import { isInternalQueue } from 'zin/plugins/queues'
import { type Check, problem } from './problem.js'

export const namePattern = /^[a-zA-Z0-9_-]{3,50}$/
const rule = 'must be 3 to 50 letters a-z, A-Z, digits, "_" or "-"'

export const checkName: Check = (value) => {
  if (typeof value !== 'string' || !namePattern.test(value)) return problem('name', 'INVALID_WORKER_NAME', `A worker's name ${rule}`)
  return undefined
}

export const checkQueueName: Check = (value) => {
  if (typeof value !== 'string' || !namePattern.test(value)) return problem('queueName', 'INVALID_QUEUE_NAME', `"queueName" ${rule}`)
  if (isInternalQueue(value))
    return problem(
      'queueName',
      'INVALID_QUEUE_NAME',
      `"${value}" is a queue of a plugin, as its name begins with "zin-"; choose another name`,
    )
  return undefined
}
