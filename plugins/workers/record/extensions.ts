import { messageOf } from 'zin'
import { pluginName } from './define-feature.js'
import { type Check, isObject, problem } from './problem.js'

/** Maximum total length of all parts of a record as JSON, in characters. */
const mostCharacters = 32_768

/** Validates the extensions as a whole; each plugin validates its own part. */
export const checkExtensions: Check = (value) => {
  const invalid = (text: string) => problem('extensions', 'INVALID_EXTENSIONS', `"extensions" ${text}`)
  if (!isObject(value)) return invalid('must be an object: plugin name → its part of the record')
  const wrong = Object.keys(value).find((plugin) => !pluginName.test(plugin))
  if (wrong !== undefined) return invalid('has a key that is not a valid plugin name')
  if (Object.values(value).some((part) => part !== undefined && part !== null && !isObject(part)))
    return invalid('must have an object for each plugin, or null to remove its part')
  try {
    return JSON.stringify(value).length > mostCharacters ? invalid(`must have at most ${mostCharacters} characters as JSON`) : undefined
  } catch (error) {
    return invalid(`must be JSON: ${messageOf(error)}`)
  }
}
