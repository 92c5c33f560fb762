// Package limit counts the open requests and streams on lines, and refuses more than the limits allow: API servers
// neither time out nor queue requests through lines. It is pure.
package limit
