type Values = Readonly<Record<string, string | undefined>>

/** What `zin dev` sets unless the environment or `.env` does. Data of an app under development need not survive a power cut. */
export const devDefaults: Values = { NODE_ENV: 'development', QUEUE_FSYNC: 'off' }

/** The environment of the app under `zin dev`. */
export function devEnvironment(own: Values, file: Values = {}): Record<string, string | undefined> {
  const missing = Object.entries(devDefaults).filter(([name]) => own[name] === undefined && file[name] === undefined)
  return { ...own, ...Object.fromEntries(missing), ZIN_DEV: '1' }
}
