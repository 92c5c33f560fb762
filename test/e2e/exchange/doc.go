// Package exchange exchanges the certificate authority of a hub with real programs, while
// agents stay connected, others join and one is away.
package exchange
