import type { PluginContext } from './context.js'

/**
 * Reads a value of the configuration in `setup`. If that fails, the error prevents the start, as one of `onCheck`, and the fallback stands in:
 * the setup goes on, so that `zin config:check` finds what else is wrong, also in plugins that need this one.
 *
 * @example
 * const text = process.env.MAIL_URL ?? ''
 * const url = checkedValue(ctx, () => new URL(text), () => new URL('smtp://localhost'))
 */
export function checkedValue<T>({ onCheck }: Pick<PluginContext, 'onCheck'>, read: () => T, fallback: (error: unknown) => T): T {
  try {
    return read()
  } catch (error) {
    onCheck(() => {
      throw error
    })
    return fallback(error)
  }
}
