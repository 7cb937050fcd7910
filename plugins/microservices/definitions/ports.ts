/** What needs ports. */
export interface PortRequest {
  /** The first one, when it is fixed. */
  readonly port?: number
  /** How many. */
  readonly count: number
}

/**
 * Ports for each request, in its place: fixed ones first; then `base` plus the position of the request, or the next one that is free. So a
 * service keeps its port when another one gets a fixed port.
 */
export function assignPorts(requests: readonly PortRequest[], base: number, reserved: readonly number[]): readonly (readonly number[])[] {
  const taken = new Set([...reserved, ...requests.flatMap(({ port }) => (port === undefined ? [] : [port]))])
  const next = (from: number): number => {
    let port = from
    while (taken.has(port)) port++
    taken.add(port)
    return port
  }
  const first = requests.map(({ port }, index) => port ?? next(base + index))
  return requests.map(({ count }, index) => {
    const ports = [first[index] as number]
    while (ports.length < count) ports.push(next((ports.at(-1) as number) + 1))
    return ports
  })
}
