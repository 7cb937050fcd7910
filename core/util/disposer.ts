/** Undoes a registration. Calling it twice does nothing. */
export type Disposer = () => void
