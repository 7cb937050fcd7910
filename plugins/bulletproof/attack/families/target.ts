import { type Attack, unreached } from '../attack.js'
import type { Kit } from '../kit.js'
import type { WireRequest } from '../wire.js'

const fix = 'Refuse request targets that a URL parser would rewrite, match paths strictly, and authorize by the matched route.'

/** Spellings of a path that some parsers treat as the path itself. */
const spellings: Readonly<Record<string, (path: string, host: string) => readonly string[]>> = {
  'double-slash': (path) => [`/${path}`, path.replace(/\/(?=[^/]*$)/, '//'), `//zin.invalid${path}`],
  'dot-segments': (path) => [`/.${path}`, `/zin/..${path}`, `/..${path}`, `${path}/.`, `${path}/zin/..`],
  'encoded-dots': (path) => [`/%2e${path}`, `/zin/%2e%2e${path}`, `/zin/.%2E${path}`, `${path}/%2e`],
  'encoded-letters': (path) => [encodeLast(path), path.replace(/^\/(.)/, (_, char: string) => `/${hex(char)}`), `%2f${path.slice(1)}`],
  backslash: (path) => [`\\${path.slice(1)}`, `/\\${path.slice(1)}`, path.replace(/\/(?=[^/]*$)/, '\\'), `${path}\\`],
  'absolute-form': (path, host) => [`http://${host}${path}`, `http://zin.invalid${path}`, `https://${host}${path}`],
  case: (path) => [path.toUpperCase(), path.replace(/[a-z](?=[^a-z]*$)/, (char) => char.toUpperCase())],
  'trailing-parts': (path) => [`${path}/`, `${path};zin=1`, `${path}%20`, `${path}%00`, `${path}%2f`, `${path}.json`, `${path}#zin`],
}

function hex(char: string): string {
  return `%${char.charCodeAt(0).toString(16)}`
}

function encodeLast(path: string): string {
  return path.slice(0, -1) + hex(path.slice(-1))
}

/** Two requests: with the signature for the plain path, and without credentials. */
function tried(kit: Kit, spelled: string): readonly WireRequest[] {
  const signed = kit.sign()
  const search = kit.target.path.slice(kit.pathname.length)
  const bare = signed.headers.filter(([name]) => ['host', 'accept', 'user-agent', 'content-type'].includes(name))
  return [
    { ...signed, target: spelled + search },
    { ...signed, target: spelled + search, headers: bare },
  ]
}

/** Send the target in other spellings in the request line. */
export const targetAttacks: readonly Attack[] = Object.entries(spellings).map(([name, spell]) => ({
  name: `target:${name}`,
  hole: 'another encoding of the path reaches the route with a signature for the plain one, or bypasses its checks',
  fix,
  rounds: (kit) => {
    const all = spell(kit.pathname, kit.parts.host).filter((spelled) => spelled !== kit.pathname)
    return [unreached(...all.flatMap((spelled) => tried(kit, spelled)))]
  },
}))
