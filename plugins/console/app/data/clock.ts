import { useValue, Value } from './signal.js'

/** The time of all relative times of the page, once a second; it stands still in a hidden tab. */
export const now = new Value(Date.now())
setInterval(() => {
  if (!document.hidden) now.set(Date.now())
}, 1000)

export const useNow = (): number => useValue(now)
