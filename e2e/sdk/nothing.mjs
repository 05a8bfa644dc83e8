// Stands in for a module of Node.js that chainkit imports and our calls do not need.
export default {};
