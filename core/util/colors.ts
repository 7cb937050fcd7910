/** The properties of a stream that determine colour support. */
interface Screen {
  readonly isTTY?: boolean
  hasColors?(count?: number, env?: object): boolean
}

/** Whether to use colours on `screen`: according to `FORCE_COLOR`, then `NO_COLOR`, then whether it is a terminal that supports them. */
export function wantsColors(screen: Screen, env: Readonly<Record<string, string | undefined>>): boolean {
  const { FORCE_COLOR: force, NO_COLOR: none = '' } = env
  if (force !== undefined) return force !== '0' && force !== 'false'
  return none === '' && screen.isTTY === true && screen.hasColors?.(16, env) !== false
}
