/** A Redis and a MariaDB of a test's own, which it may freeze without harm to the tests beside it. */
export { type Server, type Services, startServices } from '../services.js'
