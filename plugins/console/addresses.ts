import type { Address } from 'zin'

/** Whether a host is a loopback address. */
export function isLoopback(host: string): boolean {
  return host === 'localhost' || host === '::1' || /^127\.\d{1,3}\.\d{1,3}\.\d{1,3}$/.test(host)
}

/** Returns the URL at which this process can reach its own app; a wildcard address is reached over loopback. */
export function urlOf({ host, port }: Address): string {
  const name = host === '0.0.0.0' || host === '' ? '127.0.0.1' : host === '::' ? '::1' : host
  return `http://${name.includes(':') ? `[${name}]` : name}:${port}`
}
