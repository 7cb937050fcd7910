import { type Problem, problem } from './problem.js'
import { isUrl } from './processor-url.js'

export const processorExtensions = ['.ts', '.js', '.mjs', '.cjs'] as const

// Characters that mean something to URLs, entities, shells or Windows paths: no processor needs them, and tricks do.
const trickCharacters = /[\u0000-\u001f\u007f\\%&?#*:<>|"]/

/**
 * The fault of a processor path as text, before the disk is asked. Whether the file lies under a processor root
 * is decided when it is loaded, on its real path.
 */
export function checkProcessorPath(field: string, value: unknown): Problem | undefined {
  if (typeof value !== 'string') return problem(field, 'INVALID_PROCESSOR_PATH', `"${field}" must be a file path`)
  if (isUrl(value)) return problem(field, 'INVALID_PROCESSOR_URL', `"${field}" is a URL; give the path of a file under a processor root`)
  if (value.length > 1024 || trickCharacters.test(value)) {
    return problem(
      field,
      'INVALID_PROCESSOR_PATH',
      `"${field}" must be a path of at most 1024 plain characters, without any of \\ % & ? # * : < > | "`,
    )
  }
  const segments = value.split('/')
  if (segments.includes('..')) return problem(field, 'INVALID_PROCESSOR_PATH_TRAVERSAL', `"${field}" must not contain ".."`)
  if (!processorExtensions.some((extension) => value.endsWith(extension) && segments.at(-1) !== extension)) {
    return problem(field, 'INVALID_PROCESSOR_EXTENSION', `"${field}" must end in one of ${processorExtensions.join(', ')}`)
  }
  return undefined
}
