/** A Redis and a MariaDB for a single test, which it can freeze without affecting other tests. */
export { type Server, type Services, startServices } from '../services.js'
