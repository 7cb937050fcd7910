import { env } from 'zin'

// Variables that programs commonly need, and that never contain secrets.
const passedOn = ['PATH', 'HOME', 'TZ', 'LANG', 'LC_ALL', 'TMPDIR', 'TEMP', 'TMP', 'SystemRoot', 'NODE_EXTRA_CA_CERTS'] as const

/** The whole environment of an isolated processor. */
export function sandboxEnvironment(nodeEnv: string): Readonly<Record<string, string>> {
  const values = passedOn.map((name) => [name, env.string(name)] as const).filter(([, value]) => value !== '')
  return { ...Object.fromEntries(values), NODE_ENV: nodeEnv }
}
