/** Undoes a registration. Further calls do nothing. */
export type Disposer = () => void
