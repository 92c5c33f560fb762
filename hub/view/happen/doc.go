// Package happen tells what happened, from the events on a hub. It is pure.
package happen
