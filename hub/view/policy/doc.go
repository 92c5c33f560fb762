// Package policy says what each policy has, or why it has nothing. It is pure.
package policy
