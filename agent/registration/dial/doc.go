// Package dial has the requests of one client open their connections one after the other.
//
// A transport of net/http dials for each request that finds no connection. Which protocol a server speaks it learns from the first answer:
// of five requests that begin at once each has opened a connection of its own by then, and four of these are closed again where one HTTP/2
// connection carries all. An agent begins that way whenever its hub was restarted, and all agents do so at the same time: most of what a
// hub does in that minute is to calculate handshakes for connections that nobody uses. Here a request waits while another one connects, and
// then goes over the connection that this one got. A server that speaks HTTP/1.1 only, such as some proxies, is dialed once for each
// request as before, but by one request at a time.
package dial
