/** An address to listen on. */
export interface Address {
  readonly host: string
  readonly port: number
}

/** Formats an address as a URL: `http://127.0.0.1:7777`. An IPv6 address gets brackets. */
export function urlOf({ host, port }: Address): string {
  return `http://${host.includes(':') ? `[${host}]` : host}:${port}`
}
