/*
 * Check how a program that uses the PostgreSQL JDBC driver reads and writes
 * compact types.  Parameters and results have Java's own types, whether the
 * driver prepares statements on the server or not.
 *
 *	java -cp postgresql.jar CompactTypes.java URL < SAMPLES
 *
 * SAMPLES has a line for each type, with fields separated by tabs: type, wide
 * type, kind, a bad value, its SQLSTATE, and good values.  The program prints
 * TAP lines without numbers, "ok - NAME" or "not ok - NAME", and the calling
 * test counts them.
 */
import java.io.BufferedReader;
import java.io.ByteArrayOutputStream;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.io.StringReader;
import java.math.BigDecimal;
import java.nio.charset.StandardCharsets;
import java.sql.Array;
import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.sql.Timestamp;
import java.sql.Types;
import java.time.LocalDateTime;
import java.time.OffsetDateTime;
import java.time.ZoneOffset;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Objects;
import java.util.Properties;
import java.util.TreeSet;

import org.postgresql.PGConnection;
import org.postgresql.util.PGobject;

public class CompactTypes
{
	static PrintStream out;

	record Sample(String type, String wide, String kind, String bad, String sqlstate, List<Object> values)
	{
	}

	/* the names of the four ways to run a query, and the properties that choose them */
	static final String[][] MODES = {
		{"unprepared", "prepareThreshold", "0"},
		{"prepared", "prepareThreshold", "1"},
		{"binary", "prepareThreshold", "-1"},
		{"simple", "preferQueryMode", "simple"}
	};

	static void check(String name, Object got, Object expected)
	{
		if (Objects.equals(got, expected))
			out.println("ok - " + name);
		else
			out.println("not ok - " + name + ": got <" + got + ">, expected <" + expected + ">");
	}

	/* Return the Java value for a literal. */
	static Object javaValue(String kind, String literal)
	{
		return switch (kind)
		{
			case "int" -> Integer.valueOf(literal);
			case "long" -> Long.valueOf(literal);
			case "numeric" -> new BigDecimal(literal);
			case "timestamp" -> Timestamp.valueOf(LocalDateTime.parse(literal.replace(' ', 'T')));
			case "timestamptz" -> LocalDateTime.parse(literal.replace(' ', 'T')).atOffset(ZoneOffset.UTC);
			default -> literal;
		};
	}

	static void set(PreparedStatement statement, int i, Object value) throws SQLException
	{
		if (value instanceof Integer n)
			statement.setInt(i, n);
		else if (value instanceof Long n)
			statement.setLong(i, n);
		else if (value instanceof BigDecimal n)
			statement.setBigDecimal(i, n);
		else if (value instanceof Timestamp t)
			statement.setTimestamp(i, t);
		else if (value instanceof OffsetDateTime t)
			statement.setObject(i, t);
		else
			statement.setString(i, (String) value);
	}

	static Object get(ResultSet result, int i, String kind) throws SQLException
	{
		Object value = switch (kind)
		{
			case "int" -> result.getInt(i);
			case "long" -> result.getLong(i);
			case "numeric" -> result.getBigDecimal(i);
			case "timestamp" -> result.getTimestamp(i);
			case "timestamptz" ->
			{
				Timestamp t = result.getTimestamp(i);
				yield t == null ? null : t.toInstant().atOffset(ZoneOffset.UTC);
			}
			default ->
			{
				String s = result.getString(i);
				yield s == null ? null : s.replaceAll(" +$", "");
			}
		};
		return result.wasNull() ? null : value;
	}

	static List<Object> column(ResultSet result, String kind) throws SQLException
	{
		List<Object> values = new ArrayList<>();

		while (result.next())
			values.add(get(result, 1, kind));
		return values;
	}

	static void run(Connection connection, String mode, Sample sample) throws Exception
	{
		String type = sample.type, name = mode + ": " + type + ": ", kind = sample.kind;
		List<Object> values = sample.values, rows = new ArrayList<>(values);

		/* use a table for each type, because the server caches plans of a table */
		String table = "p_" + type, copied = "c_" + type;

		rows.add(null);
		try (Statement statement = connection.createStatement())
		{
			statement.execute("CREATE TEMP TABLE " + table + " (id int PRIMARY KEY, v " + type + ")");

			/* insert the values one by one, and a NULL */
			try (PreparedStatement insert = connection.prepareStatement("INSERT INTO " + table + " VALUES (?, ?)"))
			{
				for (int i = 0; i < values.size(); i++)
				{
					insert.setInt(1, i);
					set(insert, 2, values.get(i));
					check(name + "insert", insert.executeUpdate(), 1);
				}
				insert.setInt(1, values.size());
				insert.setNull(2, Types.NULL);
				insert.executeUpdate();
			}
			for (int repeat = 0; repeat < 2; repeat++)
			{
				try (PreparedStatement select = connection.prepareStatement("SELECT v FROM " + table + " ORDER BY id"))
				{
					check(name + "values come back", column(select.executeQuery(), kind), rows);
					check(name + "again", column(select.executeQuery(), kind), rows);
				}
			}

			/* compare with a parameter on either side */
			List<Object> found = new ArrayList<>(), expected = new ArrayList<>();
			try (PreparedStatement right = connection.prepareStatement("SELECT id FROM " + table + " WHERE v = ?");
				PreparedStatement left = connection.prepareStatement("SELECT id FROM " + table + " WHERE ? = v"))
			{
				for (int i = 0; i < values.size(); i++)
				{
					for (PreparedStatement query : List.of(right, left))
					{
						set(query, 1, values.get(i));
						found.addAll(column(query.executeQuery(), "int"));
						expected.add(i);
					}
				}
			}
			check(name + "parameters", found, expected);

			/* use Java's newer types of time */
			if (kind.equals("timestamp"))
			{
				try (PreparedStatement query = connection.prepareStatement("SELECT id FROM " + table + " WHERE v = ?"))
				{
					query.setObject(1, ((Timestamp) values.get(0)).toLocalDateTime());
					check(name + "LocalDateTime", column(query.executeQuery(), "int"), List.of(0));
				}
			}
			if (kind.equals("int") || kind.equals("long"))
			{
				try (PreparedStatement query = connection.prepareStatement("SELECT id FROM " + table + " WHERE v = ?"))
				{
					query.setLong(1, ((Number) values.get(0)).longValue());
					check(name + "long", column(query.executeQuery(), "int"), List.of(0));
					/* take the first value that fits into a short */
					int i = 0;
					while (((Number) values.get(i)).longValue() != ((Number) values.get(i)).shortValue())
						i++;
					query.setShort(1, ((Number) values.get(i)).shortValue());
					check(name + "short", column(query.executeQuery(), "int"), List.of(i));
				}
			}

			/* the driver returns an object that has the text of the value */
			try (ResultSet result = statement.executeQuery("SELECT v, v::" + sample.wide + " FROM " + table + " ORDER BY id"))
			{
				result.next();
				check(name + "type name", result.getMetaData().getColumnTypeName(1), type);
				check(name + "SQL type", result.getMetaData().getColumnType(1), Types.OTHER);
				check(name + "object", result.getObject(1) instanceof PGobject o ? o.getType() : null, type);
				check(name + "text", ((PGobject) result.getObject(1)).getValue(), result.getString(1));
				check(name + "cast to " + sample.wide, get(result, 2, kind), values.get(0));
			}
			/* such an object can be sent as a parameter */
			try (ResultSet result = statement.executeQuery("SELECT v FROM " + table + " ORDER BY id");
				PreparedStatement query = connection.prepareStatement("SELECT id FROM " + table + " WHERE v = ?"))
			{
				result.next();
				query.setObject(1, result.getObject(1));
				check(name + "object as a parameter", column(query.executeQuery(), "int"), List.of(0));
			}

			/* update in a batch */
			try (PreparedStatement update = connection.prepareStatement("UPDATE " + table + " SET id = id + 100 WHERE v = ?"))
			{
				int[] ones = new int[values.size()];

				for (Object value : values)
				{
					set(update, 1, value);
					update.addBatch();
				}
				Arrays.fill(ones, 1);
				check(name + "batch", Arrays.toString(update.executeBatch()), Arrays.toString(ones));
			}
			try (PreparedStatement insert = connection.prepareStatement("INSERT INTO " + table + " (id, v) VALUES (?, ?)"))
			{
				for (int i = 0; i < 20; i++)
				{
					insert.setInt(1, 1000 + i);
					set(insert, 2, values.get(i % values.size()));
					insert.addBatch();
				}
				check(name + "insert batch", insert.executeBatch().length, 20);
			}
			try (ResultSet result = statement.executeQuery("SELECT v FROM " + table + " WHERE id >= 1000 ORDER BY id LIMIT " + values.size()))
			{
				check(name + "inserted by batch", column(result, kind), values);
			}

			/* read with a cursor, three rows at a time */
			statement.setFetchSize(3);
			try (ResultSet result = statement.executeQuery("SELECT v FROM " + table))
			{
				check(name + "cursor", column(result, kind).size(), 20 + rows.size());
			}

			/* use COPY, which the simple protocol has as well */
			var copy = connection.unwrap(PGConnection.class).getCopyAPI();
			ByteArrayOutputStream text = new ByteArrayOutputStream();
			copy.copyOut("COPY " + table + " (v) TO STDOUT", text);
			statement.execute("CREATE TEMP TABLE " + copied + " (v " + type + ")");
			check(name + "COPY", copy.copyIn("COPY " + copied + " FROM STDIN", new StringReader(text.toString(StandardCharsets.UTF_8))),
				(long) (20 + rows.size()));
			try (ResultSet result = statement.executeQuery("SELECT count(*) FROM (SELECT v FROM " + copied + " EXCEPT SELECT v FROM " + table + ") s"))
			{
				check(name + "copied", column(result, "int"), List.of(0));
			}

			/* read an array */
			try (ResultSet result = statement.executeQuery("SELECT array_agg(DISTINCT v) FROM " + table + " WHERE v IS NOT NULL"))
			{
				result.next();
				Array array = result.getArray(1);
				check(name + "array", array.getBaseTypeName() + " " + ((Object[]) array.getArray()).length,
					type + " " + values.size());
			}
		}
		connection.rollback();

		if (sample.bad.isEmpty())
			return;

		/* after an error, the connection still works */
		try (PreparedStatement query = connection.prepareStatement("SELECT ?::text::" + type))
		{
			query.setString(1, sample.bad);
			query.executeQuery();
			check(name + "error", null, sample.sqlstate);
		}
		catch (SQLException e)
		{
			check(name + "error", e.getSQLState(), sample.sqlstate);
		}
		connection.rollback();
	}

	public static void main(String[] args) throws Exception
	{
		List<Sample> samples = new ArrayList<>();

		out = new PrintStream(System.out, true, StandardCharsets.UTF_8);
		try (BufferedReader in = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8)))
		{
			for (String line; (line = in.readLine()) != null;)
			{
				String[] fields = line.split("\t", -1);
				List<Object> values = new ArrayList<>();

				for (String literal : Arrays.copyOfRange(fields, 5, fields.length))
					values.add(javaValue(fields[2], literal));
				samples.add(new Sample(fields[0], fields[1], fields[2], fields[3], fields[4], values));
			}
		}

		for (String[] mode : MODES)
		{
			Properties properties = new Properties();

			properties.setProperty("user", System.getProperty("user.name"));
			properties.setProperty(mode[1], mode[2]);
			try (Connection connection = DriverManager.getConnection(args[0], properties))
			{
				connection.setAutoCommit(false);
				for (Sample sample : samples)
					run(connection, mode[0], sample);
			}
		}
		out.println("# done");
	}
}
