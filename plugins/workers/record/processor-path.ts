import { type Problem, problem } from './problem.js'
import { isUrl } from './processor-url.js'

export const processorExtensions = ['.ts', '.js', '.mjs', '.cjs'] as const

// Characters with a meaning in URLs, entities, shells or Windows paths. Processor paths do not need them, but attacks do.
const unsafeCharacters = /[\u0000-\u001f\u007f\\%&?#*:<>|"]/

/**
 * Checks the text of a processor path, without I/O. Whether its real path is under a processor root is checked when the file is loaded.
 */
export function checkProcessorPath(field: string, value: unknown): Problem | undefined {
  if (typeof value !== 'string') return problem(field, 'INVALID_PROCESSOR_PATH', `"${field}" must be a file path`)
  if (isUrl(value)) return problem(field, 'INVALID_PROCESSOR_URL', `"${field}" is a URL; pass the path of a file under a processor root`)
  if (value.length > 1024 || unsafeCharacters.test(value)) {
    return problem(
      field,
      'INVALID_PROCESSOR_PATH',
      `"${field}" must be a path of at most 1024 characters, without control characters or any of \\ % & ? # * : < > | "`,
    )
  }
  const segments = value.split('/')
  if (segments.includes('..')) return problem(field, 'INVALID_PROCESSOR_PATH_TRAVERSAL', `"${field}" must not contain ".."`)
  const name = segments.at(-1) ?? ''
  if (name.includes('.') && !hasProcessorExtension(name)) {
    return problem(
      field,
      'INVALID_PROCESSOR_EXTENSION',
      `"${field}" must end in one of ${processorExtensions.join(', ')}, or have no extension`,
    )
  }
  return undefined
}

/** Whether the name of a file, which is not the extension alone, has the extension of a processor. */
export function hasProcessorExtension(file: string): boolean {
  return processorExtensions.some((extension) => file.endsWith(extension) && !/(^|[\\/])\.[a-z]+$/.test(file))
}

/**
 * The files that a valid path may mean, in this order: the file itself, then the one with another extension, because `x.ts` in the sources of an
 * app is `x.js` in its build, and stored paths outlive both.
 */
export function processorFiles(path: string): readonly string[] {
  const own = processorExtensions.find((extension) => path.endsWith(extension))
  const stem = own === undefined ? path : path.slice(0, -own.length)
  const others = processorExtensions.filter((extension) => extension !== own).map((extension) => stem + extension)
  return own === undefined ? others : [path, ...others]
}
