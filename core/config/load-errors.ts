import { createRequire } from 'node:module'
import { dirname, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import { messageOf, ZinError } from '../errors.js'
import { appFrame, type Place } from '../util/app-frame.js'
import { configErrors } from './errors.js'
import { locateTsx } from './tsx.js'

/** Builds the error for a configuration file that could not be imported: the problem with its file, line and column. */
export async function loadingFailed(error: unknown, configFile: string): Promise<ZinError> {
  const place = error instanceof Error ? appFrame(error, dirname(configFile)) : undefined
  // A SyntaxError with a frame in the app was thrown by code that ran, e.g. by JSON.parse.
  if (isSyntaxError(error) && place === undefined) {
    const found = (await findSyntaxError(configFile)) ?? { place: headPlace(error), text: messageOf(error).split('\n')[0] ?? '' }
    return configErrors.ZIN_CONFIG_SYNTAX(at(found.place, configFile), found.text, error)
  }
  // A ZinError, e.g. from env.int, already contains the fix.
  if (error instanceof ZinError)
    return new ZinError(error.code, `${error.message} (${at(place, configFile)})`, { details: error.details, cause: error })
  if (isMissingModule(error)) {
    const what = messageOf(error).split('\n')[0] ?? ''
    const named = what.includes(' imported from ') ? what : `${what}, imported from ${configFile}`
    return configErrors.ZIN_CONFIG_IMPORT(named, error)
  }
  const kind = error instanceof Error ? `${error.name}: ` : 'threw '
  return configErrors.ZIN_CONFIG_FAILED(at(place, configFile), `${kind}${messageOf(error)}`, error)
}

function at(place: Place | undefined, otherwise: string): string {
  return place === undefined ? otherwise : `${place.file}:${place.line}:${place.column}`
}

/** tsx reports code that it cannot transform as an esbuild error; Node reports the rest as a SyntaxError. */
function isSyntaxError(error: unknown): error is Error {
  return (
    error instanceof SyntaxError ||
    (error instanceof Error && (error.name === 'TransformError' || error.message.startsWith('Transform failed')))
  )
}

function isMissingModule(error: unknown): boolean {
  return ['ERR_MODULE_NOT_FOUND', 'MODULE_NOT_FOUND', 'ERR_PACKAGE_PATH_NOT_EXPORTED'].includes(
    String((error as { code?: unknown } | undefined)?.code),
  )
}

/** Node prints the location of a failed link above the stack: `file:line`, the source line, and a caret below the column. */
function headPlace(error: Error): Place | undefined {
  const [head = '', , carets = ''] = (error.stack ?? '').split('\n')
  const [, where = '', line] = /^(.+):(\d+)$/.exec(head) ?? []
  if (line === undefined) return undefined
  return { file: where.startsWith('file://') ? fileURLToPath(where) : where, line: Number(line), column: carets.indexOf('^') + 1 || 1 }
}

/** The part of esbuild that is used here. */
interface Esbuild {
  build(options: Readonly<Record<string, unknown>>): Promise<unknown>
}

interface BuildFailure {
  readonly errors?: readonly {
    readonly text: string
    readonly location: { readonly file: string; readonly line: number; readonly column: number } | null
  }[]
}

/**
 * Node reports neither file nor line of a syntax error in a module, and tsx reports them as text only. esbuild, a dependency of tsx,
 * finds the location in the file or in any local file that it imports.
 */
async function findSyntaxError(configFile: string): Promise<{ readonly place: Place; readonly text: string } | undefined> {
  try {
    const esbuild = createRequire(locateTsx(configFile).loader)('esbuild') as Esbuild
    const absWorkingDir = dirname(configFile)
    await esbuild.build({
      entryPoints: [configFile],
      absWorkingDir,
      bundle: true,
      packages: 'external',
      platform: 'node',
      format: 'esm',
      write: false,
      logLevel: 'silent',
    })
  } catch (error) {
    const first = (error as BuildFailure).errors?.find((entry) => entry.location !== null)
    if (!first?.location) return undefined
    const { file, line, column } = first.location
    return { place: { file: resolve(dirname(configFile), file), line, column: column + 1 }, text: first.text }
  }
  return undefined
}
