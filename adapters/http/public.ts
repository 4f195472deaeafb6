/** What `sheaf/http` offers. */
export { type ConnectHttpOptions, connectHttp } from './client.js'
export { type HttpServer, type RequestRecord, type ServeOptions, serve } from './server.js'
