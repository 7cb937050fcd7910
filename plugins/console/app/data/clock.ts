import { useValue, Value } from './signal.js'

/** The current time for all relative times on the page, updated once a second; it stops in a hidden tab. */
export const now = new Value(Date.now())
setInterval(() => {
  if (!document.hidden) now.set(Date.now())
}, 1000)

export const useNow = (): number => useValue(now)
