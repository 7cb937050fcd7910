import { hostErrors } from './errors.js'

/**
 * Loads a package that only some apps install, such as an optional peer dependency of a plugin.
 *
 * @param name as in `npm install <name>`.
 * @param load `() => import('<name>')`, so that bundlers see the import.
 * @throws `ZIN_PACKAGE_MISSING`, which names the package and the command that adds it. Errors of the package itself are thrown as they are.
 * @example
 * const { WebSocketServer } = await importPackage('ws', () => import('ws'))
 */
export async function importPackage<T>(name: string, load: () => Promise<T>): Promise<T> {
  try {
    return await load()
  } catch (error) {
    if (isMissing(name, error)) throw hostErrors.ZIN_PACKAGE_MISSING([name])
    throw error
  }
}

/** Whether the package itself is absent, rather than one that it needs. */
function isMissing(name: string, error: unknown): boolean {
  const { code, message } = (error ?? {}) as { readonly code?: unknown; readonly message?: unknown }
  return code === 'ERR_MODULE_NOT_FOUND' && String(message).includes(`'${name}'`)
}
