// Package ui is the explorer in the browser: the pages at /, rendered on the server.
//
// A page shows what the API answers. It asks the server's own API in the same process
// ([API]), so there is one truth, and a page is no more than a request or two, a struct
// of what they return and a template. What only operators see comes through [Operator].
//
// # A page
//
// A page is a line of the table that [Site.Pages] returns, with a function that fills a
// struct and a template of the same name:
//
//	func (s *Site) thingPages() []Page {
//		return []Page{{Pattern: "/thing/{id}", Units: 20, Serve: serveThing}}
//	}
//
//	func serveThing(r *Request) error {
//		var data struct{ Name string }
//		if err := r.Get(join("/v1/things", r.Param("id")), &data); err != nil {
//			return err
//		}
//		return r.Render("thing", data.Name, &data)
//	}
//
// templates/thing.html defines "main", and "scripts" if the page has scripts of its own.
// What is in layout.html and parts.html can be used in all of them; the functions of
// templates are in layout.go. Each page shows its data without JavaScript.
//
// # Text of others
//
// All that comes from chains, nodes or clients is hostile. Templates escape it by its
// place; it is never made a template.HTML, URL or JS, and never loaded: links lead to our
// own paths only, and the content security policy allows no other host, no inline script
// and no inline style.
//
// # Scripts
//
// assets/quorate.js serves all pages. It goes by attributes:
//
//   - data-copy="text" on a button copies the text, data-copy="" that of the element before it.
//   - A <time datetime> shows how long ago that was, and its title the time itself; with
//     data-both it shows both.
//   - data-live="blocks" on a <tbody> or list shows further events of /v1/events as they
//     happen, with data-chain the chains, separated by commas, and data-max the number of
//     rows that stay. Transactions and transfers need data-addresses, too. A row
//     is made of the <template> named by data-row: in it, data-text="a.b" sets an element's
//     text to a member of the event's data, data-href="/tx/{txHash}" its link,
//     data-time a <time>; data-short shortens the text, data-group groups digits, data-name
//     puts the name of a chain that the page knows (data-chainname). The topics are those of
//     /v1/events; data-event says which event of the topic makes rows, default its singular.
//     data-match="member=value" shows only events with that value.
//   - data-now="blocks" with data-text shows a member of the last event, such as a height.
//   - data-refresh="blocks,health" on an element with an id has it replaced by what the page
//     shows now, at most every few seconds, when an event of these topics comes;
//     data-refresh="10" every 10 seconds. It needs no template.
//
// A page has one stream, and none while it is hidden.
package ui
