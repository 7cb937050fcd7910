/** Where something listens. */
export interface Address {
  readonly host: string
  readonly port: number
}

/** `http://127.0.0.1:7777`; an IPv6 address gets its brackets. */
export function urlOf({ host, port }: Address): string {
  return `http://${host.includes(':') ? `[${host}]` : host}:${port}`
}
