// Package lifetime says when a certificate is to be renewed. It only thinks.
package lifetime
