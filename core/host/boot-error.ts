import { relative } from 'node:path'
import { messageOf, ZinError } from '../errors.js'
import { appFrame } from '../util/app-frame.js'
import { hostErrors } from './errors.js'
import type { PluginPhase } from './states.js'

export interface BootCause {
  readonly plugin: string
  readonly phase: 'configuration' | 'routes' | 'listen' | Exclude<PluginPhase, 'stop'>
  readonly error: Error
  /** Location in the app's own code: `src/orders.ts:12:9`. */
  readonly place?: string
}

/** The boot failed. Lists every cause; everything that had been set up was undone. */
export class BootError extends ZinError {
  readonly causes: readonly BootCause[]

  constructor(causes: readonly BootCause[]) {
    const declared = hostErrors.ZIN_BOOT_FAILED(causes.map(describeCause), causes[0]?.error)
    super(declared.code, declared.message, declared)
    this.causes = causes
  }
}

/** Adds the location in the app's own code where the error was thrown. A ZinError needs none: its message contains the fix. */
export function located(cause: BootCause, rootDir: string): BootCause {
  const frame = cause.error instanceof ZinError ? undefined : appFrame(cause.error, rootDir)
  return frame === undefined ? cause : { ...cause, place: `${relative(rootDir, frame.file)}:${frame.line}:${frame.column}` }
}

/** Whether packages are missing, which its details name. */
export function isPackageMissing(error: Error): error is ZinError & { readonly details: readonly string[] } {
  return error instanceof ZinError && error.code === hostErrors.ZIN_PACKAGE_MISSING.code
}

/** Describes a cause: plugin, problem and location. */
export function describeCause({ plugin, phase, error, place }: BootCause): string {
  const message = messageOf(error)
  const toldWhere = phase === 'configuration' || isPackageMissing(error) ? '' : `failed in ${phase}: `
  const words = message.startsWith(`${plugin}: `) ? message : `${plugin}: ${toldWhere}${message}`
  return place === undefined ? words : `${words} (at ${place}; DEBUG=zin shows the stack)`
}
