/** The properties of a stream that determine colour support. */
interface Screen {
  readonly isTTY?: boolean
  hasColors?(count?: number, env?: object): boolean
}

/** Whether to colour what is written to `screen`: by `FORCE_COLOR`, else by `NO_COLOR`, else on a terminal that has colours. */
export function wantsColors(screen: Screen, env: Readonly<Record<string, string | undefined>>): boolean {
  const { FORCE_COLOR: force, NO_COLOR: none = '' } = env
  if (force !== undefined) return force !== '0' && force !== 'false'
  return none === '' && screen.isTTY === true && screen.hasColors?.(16, env) !== false
}
