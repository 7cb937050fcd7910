/** Ports that one service needs. */
export interface PortRequest {
  /** First port, if it is fixed. */
  readonly port?: number
  /** Number of ports. */
  readonly count: number
}

/**
 * Returns the ports for each request, in the order of the requests. Fixed ports are assigned first; other requests get `base` plus their
 * position, or the next free port, so a service keeps its port when another one gets a fixed port.
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
