import { alertActionsContract } from './alert-actions.contract.js'
import { alertsContract } from './alerts.contract.js'
import { graphqlContract } from './graphql.contract.js'
import { jobsContract } from './jobs.contract.js'
import { manageContract } from './manage.contract.js'
import { monitorContract } from './monitor.contract.js'
import { searchContract } from './search.contract.js'
import { webhooksContract } from './webhooks.contract.js'

monitorContract('the embedded store', () => ({}))
manageContract('the embedded store', () => ({}))
graphqlContract('the embedded store', () => ({}))
alertsContract('the embedded store', () => ({}))
webhooksContract('the embedded store', () => ({}))
alertActionsContract('the embedded store', () => ({}))
jobsContract('the embedded store', () => ({}))
searchContract('the embedded store', () => ({}))
